"""Transforms a file's image while another thread raises errors in this one, and prints how many were seen, of how many.
Usage: interrupted.py FILE"""

import _thread
import ctypes
import json
import sys
import threading

from PIL import Image
from torchvision import transforms as T

ROUNDS, ENOUGH = 200, 20
transform = T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor()])
may_raise, main = threading.Semaphore(0), _thread.get_ident()
raised = seen = 0


def interrupt():
    global raised
    for _ in range(ROUNDS):
        may_raise.acquire()
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(main), ctypes.py_object(RuntimeError))
        raised += 1


threading.Thread(target=interrupt, daemon=True).start()
sys.setswitchinterval(1e-5)
for number in range(ROUNDS):
    samples = 0
    try:
        may_raise.release()
        while samples < ENOUGH:
            transform(Image.open(sys.argv[1]).convert("RGB"))
            samples += raised > number
    except RuntimeError:
        seen += 1
print(json.dumps([seen, ROUNDS]))

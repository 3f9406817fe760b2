#include "cli/ahead/orders/pace.h"

#include "base/clock.h"

#define LEAST_FILES    32 /* in a round */
#define LEAST_ROUND_NS (STK_NS_PER_S / 10)
#define GAIN           1.1
#define FACTOR         1.5
#define PATIENCE       32 /* rounds until another number is tried: the origin may have changed */

void pace_begin(struct request_pace *pace, unsigned allowed, unsigned least, unsigned most)
{
    *pace = (struct request_pace){.allowed = allowed, .least = least, .most = most};
}

static void begin_round(struct request_pace *pace, int64_t now_ns)
{
    pace->began_ns = now_ns;
    pace->finished = 0;
    pace->idle = false;
}

void pace_note_idle(struct request_pace *pace)
{
    pace->idle = true;
}

static unsigned within(const struct request_pace *pace, double number)
{
    return number > pace->most ? pace->most : number < pace->least ? pace->least : (unsigned)number;
}

static void move(struct request_pace *pace, bool lowers, double rate)
{
    pace->allowed = within(pace, lowers ? pace->allowed / FACTOR : pace->allowed * FACTOR);
    pace->lowers = lowers;
    pace->raised = !lowers;
    pace->rate = rate;
    pace->unchanged = 0;
}

static void judge(struct request_pace *pace, double rate)
{
    if (rate > GAIN * pace->rate) {
        move(pace, pace->lowers, rate);
    } else if (rate * GAIN < pace->rate) {
        move(pace, !pace->lowers, rate);
    } else if (pace->raised) {
        move(pace, true, pace->rate);
    } else if (++pace->unchanged >= PATIENCE) {
        move(pace, false, rate);
    }
}

void pace_note_file(struct request_pace *pace, int64_t now_ns)
{
    pace->finished++;
    int64_t took_ns = now_ns - pace->began_ns;
    bool over = pace->finished >= LEAST_FILES && pace->finished >= pace->allowed &&
                took_ns >= LEAST_ROUND_NS;
    if (pace->began_ns == 0 || (over && pace->idle)) {
        begin_round(pace, now_ns);
    } else if (over) {
        judge(pace, pace->finished * 1e9 / (double)took_ns);
        begin_round(pace, now_ns);
    }
}

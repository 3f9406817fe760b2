"""Maps and telescopes."""

from .arrays import an_array
from .case import case


def make_raster(path):
    import numpy
    from osgeo import gdal

    driver = gdal.GetDriverByName("GTiff")
    raster = driver.Create(str(path), 100, 80, 1, gdal.GDT_Byte)
    raster.GetRasterBand(1).WriteRaster(0, 0, 100, 80, numpy.ascontiguousarray(
        an_array(80, 100)).tobytes())
    raster = None


# Not all the files next to the raster can be read, nor is there a file: gdal says so in words.
@case("osgeo.gdal.Open", "osgeo.gdal numpy", ".tif", make_raster)
def with_gdal(path):
    from osgeo import gdal

    gdal.UseExceptions()
    raster = gdal.Open(str(path))
    return raster.RasterXSize, raster.RasterYSize, bytes(raster.ReadRaster())


def make_rasterio(path):
    import rasterio

    with rasterio.open(path, "w", driver="GTiff", width=100, height=80, count=1,
                       dtype="uint8") as raster:
        raster.write(an_array(1, 80, 100))


@case("rasterio.open", "rasterio", ".tif", make_rasterio, main=False)
def with_rasterio(path):
    import rasterio

    with rasterio.open(path) as raster:
        return raster.read(), str(raster.profile)


def make_fits(path):
    import fitsio

    fitsio.write(str(path), an_array(100, 100))


@case("fitsio.read", "fitsio numpy", ".fits", make_fits)
def with_fitsio(path):
    import fitsio

    try:
        return fitsio.read(str(path))
    except OSError as error:  # cfitsio has one list of messages for all threads, in which they mix
        raise type(error)(str(error).partition("\n")[0]) from None


def make_astropy(path):
    from astropy.io import fits

    fits.PrimaryHDU(an_array(100, 100)).writeto(path)


@case("astropy.io.fits, mapped", "astropy numpy", ".fits", make_astropy, main=False)
def with_astropy(path):
    import numpy
    from astropy.io import fits

    with fits.open(path, memmap=True) as found:
        return numpy.array(found[0].data)


@case("astropy.io.fits", "astropy numpy", ".fits", make_astropy, main=False)
def with_astropy_read(path):
    import numpy
    from astropy.io import fits

    with fits.open(path, memmap=False) as found:
        return numpy.array(found[0].data)

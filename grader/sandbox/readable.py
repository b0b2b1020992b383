"""What learner code may read: the interpreter's libraries, the standard library, well-known packages.

Standard library only and no import of `grader`: the warm worker loads this file by its path. Everything that is
not named here is closed: the project and an installed `grader` (also an editable one: its finder points outside
the list), the course folder, home, /tmp, /proc.
"""

import glob
import os
import sys
import sysconfig
from collections.abc import Iterator

# Folders, or modules `name.py`, of site-packages; their `.libs` and `.dist-info` come with them.
PACKAGES = frozenset(
    """
    numpy torch torchgen functorch torchvision triton nvidia scipy mpmath sympy gmpy2 networkx filelock fsspec
    matplotlib mpl_toolkits pylab PIL pillow kiwisolver contourpy cycler dateutil pyparsing packaging fontTools
    six typing_extensions jaxtyping wadler_lindig beartype einops tqdm msgpack psutil
    pandas pytz tzdata seaborn sklearn scikit_learn joblib threadpoolctl jax jaxlib ml_dtypes opt_einsum
    IPython ipywidgets traitlets comm decorator matplotlib_inline stack_data pure_eval executing asttokens jedi
    parso prompt_toolkit pygments pexpect ptyprocess wcwidth jinja2 markupsafe setuptools _distutils_hack
    ipython_pygments_lexers markdown_it mdurl rich charset_normalizer chardet
    """.split()
)
_LIBRARIES = tuple(
    """
    ld-linux libc. libm. libmvec libdl. librt. libpthread libutil libresolv libnss_ libgcc_s libstdc++ libgomp
    libatomic libgfortran libquadmath libffi libz. libzstd liblzma libbz2 libexpat libssl libcrypto libsqlite3
    libncurses libtinfo libreadline libuuid libpython libmpdec libopenblas libblas libcblas liblapack libmkl libiomp
    libtbb libfreetype libpng libjpeg libtiff libwebp libopenjp2 liblcms2 libxcb libX
    """.split()
)
_LIBRARY_FOLDERS = ("/lib", "/lib64", "/usr/lib", "/usr/lib64")
_DATA = ("/etc/ld.so.cache", "/etc/localtime", "/usr/share/zoneinfo", "/usr/lib/locale", "/usr/share/fonts")
DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random")
_SITES = ("site-packages", "dist-packages")


def default_readable() -> tuple[str, ...]:
    """The paths learner code may read on this machine, for the interpreter that runs this."""
    found = [*_standard_library(), *_packages(), *_libraries(), *_DATA]
    return tuple(dict.fromkeys(path for path in found if os.path.exists(path)))


def sites() -> tuple[str, ...]:
    """The site-packages folders this interpreter imports from."""
    return tuple(p for p in sys.path if os.path.basename(p) in _SITES and os.path.isdir(p))


def _standard_library() -> Iterator[str]:
    for folder in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")}:
        # outside a virtual environment site-packages is inside: then each entry beside it is named
        if any(os.path.isdir(os.path.join(folder, name)) for name in _SITES):
            yield from (entry.path for entry in os.scandir(folder) if entry.name not in _SITES)
        else:
            yield folder


def _packages() -> Iterator[str]:
    for site in sites():
        for entry in os.scandir(site):
            name = entry.name.split(".")[0].split("-")[0]
            if name in PACKAGES or name.lower() in PACKAGES:
                yield entry.path


def _libraries() -> Iterator[str]:
    triplet = sysconfig.get_config_var("MULTIARCH") or ""
    for folder in (*_LIBRARY_FOLDERS, os.path.join(sys.base_prefix, "lib")):
        if triplet and os.path.isdir(os.path.join(folder, triplet)):
            yield os.path.join(folder, triplet)
        for name in _LIBRARIES:
            yield from (path for path in glob.glob(os.path.join(folder, name + "*")) if ".so" in path)

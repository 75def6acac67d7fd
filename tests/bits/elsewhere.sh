#!/bin/sh
# The hashes of tests/bits on another processor: elsewhere.sh arm64 or elsewhere.sh s390x (big-endian).
#
# Compiles dplr with zig for Debian's Python of that processor, and runs `python tests/bits` in qemu's emulator. Needs
# Debian or a descendant (apt-get, dpkg, debian-archive-keyring), qemu-user-static, pkg-config and python3 with venv;
# no root. Takes zig, meson, ninja, Cython and narwhals from PyPI, and Python, NumPy and SciPy from Debian: trixie, or
# what DEBIAN_SUITE names. All of it lies below build/, and is fetched once; remove the folder to fetch it again.
set -eu

case "${1:-}" in
    arm64) cpu=aarch64 triplet=aarch64-linux-gnu endian=little ;;
    s390x) cpu=s390x triplet=s390x-linux-gnu endian=big ;;
    *) echo "usage: $0 arm64|s390x" >&2; exit 2 ;;
esac
arch=$1
suite=${DEBIAN_SUITE:-trixie}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$root/build/bits-$arch
tools=$root/build/bits-tools
sysroot=$here/sysroot

missing=
for program in apt-get dpkg-deb "qemu-$cpu-static" pkg-config python3; do
    command -v "$program" > /dev/null || missing="$missing $program"
done
[ -r "$keyring" ] || missing="$missing $keyring"
if [ -n "$missing" ]; then
    echo "$0 needs:$missing" >&2
    echo "Debian: apt-get install qemu-user-static pkg-config python3-venv debian-archive-keyring" >&2
    exit 2
fi

# An apt of its own: the machine's packages, sources and architectures stay as they are.
fetch_sysroot() {
    mkdir -p "$here/apt/lists/partial" "$here/apt/archives/partial" "$here/apt/parts" "$sysroot/usr/lib"
    : > "$here/apt/status"
    echo "deb [signed-by=$keyring] http://deb.debian.org/debian $suite main" > "$here/apt/sources.list"
    cat > "$here/apt/apt.conf" << END
Dir::State::lists "$here/apt/lists";
Dir::State::status "$here/apt/status";
Dir::Cache "$here/apt";
Dir::Cache::archives "$here/apt/archives";
Dir::Etc::sourcelist "$here/apt/sources.list";
Dir::Etc::sourceparts "$here/apt/parts";
Dir::Etc::preferencesparts "$here/apt/parts";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
END
    export APT_CONFIG="$here/apt/apt.conf"
    apt-get -qq update
    python=$(apt-cache show --no-all-versions python3 | sed -n 's/^Depends: \(python3\.[0-9]*\) .*/\1/p')
    apt-get -qq -y --download-only install python3 "lib$python-dev" python3-numpy python3-scipy
    unset APT_CONFIG
    ln -sfn usr/lib "$sysroot/lib"
    for package in "$here"/apt/archives/*.deb; do
        case "$package" in
            */libc6-dev_* | */linux-libc-dev_*) ;;  # zig has its own
            *) dpkg-deb --fsys-tarfile "$package" | tar -x -C "$sysroot" --keep-directory-symlink ;;
        esac
    done
    touch "$here/sysroot.done"
}

fetch_tools() {
    python3 -m venv "$tools"
    "$tools/bin/python" -m pip install -q ziglang meson ninja "cython>=3.1,<4"
    touch "$tools/done"
}

# The emulated Python, for meson's questions and for the hashes.
write_wrappers() {
    cat > "$here/python" << END
#!/bin/sh
exec qemu-$cpu-static -L "$sysroot" -E LD_LIBRARY_PATH=/usr/lib/$triplet/blas:/usr/lib/$triplet/lapack \\
    "$sysroot/usr/bin/$python" "\$@"
END
    printf '#!/bin/sh\nexec "%s" -m ziglang cc -target %s-linux-gnu.2.28 -idirafter "%s" "$@"\n' \
        "$tools/bin/python" "$cpu" "$sysroot/usr/include" > "$here/cc"
    printf '#!/bin/sh\nexec "%s" -m ziglang ar "$@"\n' "$tools/bin/python" > "$here/ar"
    chmod +x "$here/python" "$here/cc" "$here/ar"
    cat > "$here/cross.ini" << END
[binaries]
c = '$here/cc'
ar = '$here/ar'
strip = 'true'
python = '$here/python'
cython = '$tools/bin/cython'
pkg-config = 'pkg-config'
[properties]
needs_exe_wrapper = true
sys_root = '$sysroot'
pkg_config_libdir = '$sysroot/usr/lib/$triplet/pkgconfig'
[host_machine]
system = 'linux'
cpu_family = '$cpu'
cpu = '$cpu'
endian = '$endian'
END
}

build() {
    PATH="$tools/bin:$PATH"
    export PATH
    [ -f "$here/ninja/build.ninja" ] || meson setup "$here/ninja" "$root" --cross-file "$here/cross.ini" \
        -Dbuildtype=release -Dpython.purelibdir=/site -Dpython.platlibdir=/site -Dpython.bytecompile=-1 \
        > "$here/setup.log" ||
        { tail -n 20 "$here/setup.log" >&2; exit 1; }
    ninja -C "$here/ninja" > "$here/ninja.log" || { tail -n 40 "$here/ninja.log" >&2; exit 1; }
    rm -rf "$here/site/dplr"
    meson install -C "$here/ninja" --no-rebuild --tags runtime,python-runtime --destdir "$here" > "$here/install.log"
    [ -d "$here/site/narwhals" ] || "$tools/bin/python" -m pip install -q --no-deps --target "$here/site" narwhals
    version=$(sed -n "s/^version = \"\(.*\)\"/\1/p" "$root/pyproject.toml")
    mkdir -p "$here/site/dplr-$version.dist-info"
    printf 'Metadata-Version: 2.1\nName: dplr\nVersion: %s\n' "$version" > "$here/site/dplr-$version.dist-info/METADATA"
}

[ -f "$here/sysroot.done" ] || fetch_sysroot
[ -f "$tools/done" ] || fetch_tools
python=$(ls "$sysroot/usr/bin" | grep -x 'python3\.[0-9]*')
write_wrappers
build
shift
exec "$here/python" -c "
import runpy, sys
sys.path[:0] = ['$here/site', '$sysroot/usr/lib/python3/dist-packages']
sys.argv[:] = ['$root/tests/bits', *sys.argv[1:]]
runpy.run_path('$root/tests/bits', run_name='__main__')" "$@"

#!/bin/sh
# Takes out of the base image what a running process never needs: the package manager, compilers'
# and installers' parts of Python, accounts and everything setuid. Works on Docker Hub's python
# image and on Debian's own python3. dpkg's list of what is installed stays, and stays true, so that
# scanners still see what is in the image.
set -eu
export LC_ALL=C

unneeded="
    adduser apt bash bsdutils debconf debian-archive-keyring diffutils e2fsprogs findutils gpgv
    grep gzip hostname init-system-helpers libapt-pkg6.0 libaudit-common libaudit1 libblkid1
    libcap-ng0 libext2fs2 libfdisk1 libgcrypt20 libgmp10 libgnutls30 libgpg-error0 libhogweed6
    libidn2-0 libmount1 libnettle8 libp11-kit0 libpam-modules libpam-modules-bin libpam-runtime
    libpam0g libseccomp2 libsemanage-common libsemanage2 libsepol2 libsmartcols1 libss2 libsystemd0
    libtasn1-6 libudev1 libunistring2 libxxhash0 login logsave mawk mount ncurses-bin openssl
    passwd perl-base python3-distutils python3-lib2to3 python3-pip-whl python3-setuptools-whl
    python3-venv python3.11-venv sed sysvinit-utils tar util-linux util-linux-extra
"
python=$(command -v python3)
libraries=$($python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')

# Python's own installers and desktop parts, where the base has them apart from packages.
for part in ensurepip idlelib lib2to3 tkinter turtledemo test site-packages/pip \
    site-packages/setuptools site-packages/pkg_resources site-packages/_distutils_hack \
    site-packages/wheel; do
    rm -rf "${libraries:?}/$part"
done
rm -rf "$libraries"/site-packages/*.dist-info "$libraries"/site-packages/distutils-precedence.pth \
    "$libraries"/config-* "$(dirname "$python")"/pip* "$(dirname "$python")"/wheel \
    "$(dirname "$python")"/idle* "$(dirname "$python")"/2to3* "$(dirname "$python")"/pydoc* \
    /usr/include /usr/local/include /usr/local/share/man

# Valid whatever a file's time is, and never looked up again: most of a short process is imports.
$python -m compileall -q -f --invalidation-mode unchecked-hash "$libraries"

set --
for package in $unneeded; do
    if dpkg-query --list "$package" 2>/dev/null | grep -q '^ii'; then
        set -- "$@" "$package"
        # Scripts that would undo settings of a system that goes away as a whole.
        rm -f "/var/lib/dpkg/info/$package".prerm "/var/lib/dpkg/info/$package".postrm \
            "/var/lib/dpkg/info/$package":*.prerm "/var/lib/dpkg/info/$package":*.postrm
    fi
done
list=$(mktemp)
dpkg --purge --force-all --no-triggers "$@" >"$list" 2>&1 || { cat "$list" >&2; exit 1; }

rm -rf "$list" /etc/apt /var/lib/apt /var/cache/* /var/log/* /var/lib/dpkg/info /usr/share/doc \
    /usr/share/man /usr/share/info /usr/share/locale /usr/share/lintian /usr/share/perl* \
    /usr/lib/*/gconv /usr/lib/*/perl-base /usr/bin/dpkg* /usr/sbin/dpkg* /root/.cache \
    /root/.wget-hsts /etc/shadow* /etc/gshadow* /etc/pam.d /etc/security
chmod g-s /var/mail /var/local

# Kubernetes takes only the user's number from an image; the group is looked up here, or is root's.
echo 'plimsoll:x:65532:65532:plimsoll:/nonexistent:/nonexistent' >>/etc/passwd
echo 'plimsoll:x:65532:' >>/etc/group

# What is left must still work, on whichever base this was.
$python -c 'import bz2, ctypes, hashlib, lzma, readline, sqlite3, ssl, uuid, zlib, zoneinfo'

#!/bin/sh
# slim_packages.sh ENVIRONMENT: takes out of a virtual environment what is only for building on its
# packages or for testing them.
set -eu
environment=$1
# Commands of libraries; our own comes with our own layer.
find "$environment/bin" ! -type d ! -name 'python*' -delete
find "$environment/lib" -depth -type d \( -name tests -o -name test \) -exec rm -rf {} +
find "$environment/lib" -type f \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' \
    -o -name '*.h' -o -name '*.hpp' -o -name '*.c' -o -name '*.cpp' -o -name '*.tp' \
    -o -name '*.a' \) -delete
# Data sets to learn scikit-learn with.
for part in data images descr; do
    rm -rf "$environment"/lib/python3*/site-packages/sklearn/datasets/"$part"
done

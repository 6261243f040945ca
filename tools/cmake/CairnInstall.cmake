# install rules: see the packaging work

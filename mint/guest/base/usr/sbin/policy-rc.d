#!/bin/sh
# Nothing is started while packages are installed; the stage takes this away.
exit 101

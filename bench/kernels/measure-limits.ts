import { measureLimits } from '#cli/bench/machine.js';

/** Measures the machine in a process of its own, whose environment decides what the BLAS takes it for. */
process.send?.(await measureLimits());

import { useOptimisations } from '../optimisation/optimise/set-up.js';
import {
  describeCoverage,
  describeDamagedBodies,
  describeDamagedFiles,
  describeRepairs,
} from './risk-model-imports/damaged.js';
import { describeDated } from './risk-model-imports/dated.js';
import { describeRoundTrips } from './risk-model-imports/round-trips.js';

useOptimisations();
describeRoundTrips();
describeDated();
describeRepairs();
describeDamagedBodies();
describeDamagedFiles();
describeCoverage();

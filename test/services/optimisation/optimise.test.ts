import { describeConstraintSets } from './optimise/constraint-sets.js';
import { describeRuns } from './optimise/runs.js';
import { describeDerivedIndex } from './optimise/derived-index.js';
import { describeObjectives } from './optimise/objectives.js';

describeConstraintSets();
describeRuns();
describeDerivedIndex();
describeObjectives();

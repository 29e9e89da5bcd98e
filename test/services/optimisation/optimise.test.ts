import { describeConstraintSets } from './optimise/constraint-sets.js';
import { describeRuns } from './optimise/runs.js';
import { describeDerivedIndex } from './optimise/derived-index.js';
import { describeObjectives } from './optimise/objectives.js';
import { describeTails } from './optimise/tails.js';
import { describeUncertainty } from './optimise/uncertainty.js';
import { describeRiskAndCandidates } from './optimise/risk-and-candidates.js';
import { describeStoredModels } from './optimise/stored-models.js';
import { useOptimisations } from './optimise/set-up.js';

useOptimisations();
describeConstraintSets();
describeRuns();
describeDerivedIndex();
describeObjectives();
describeTails();
describeUncertainty();
describeRiskAndCandidates();
describeStoredModels();

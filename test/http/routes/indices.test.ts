import { describeDefinitions } from './indices/definitions.js';
import { describePreviews } from './indices/previews.js';
import { describeExplanations } from './indices/explanations.js';
import { describeExpressions } from './indices/expressions.js';
import { describeWhatIf } from './indices/what-if.js';

describeDefinitions();
describePreviews();
describeExplanations();
describeWhatIf();
describeExpressions();

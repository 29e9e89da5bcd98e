import { halfLifeWeights } from '#kernels/moments/half-life-weights.js';
import { measurePlain } from '../measure.js';

const out = new Float64Array(2520);
measurePlain('halfLifeWeights', `${out.length}`, () => halfLifeWeights(63, out), { bytes: 24 * out.length });

import { raiseToPower } from '#kernels/power.js';
import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { computeNormalProbability } from '#kernels/weighting/normal-probability.js';
import { computeZScores } from '../../datapoints/transforms.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { nameUsedField, readValues } from '../verdicts.js';
import { createWeights, defineWeightingClass } from '../weighting-class.js';

/** Limit to which absolute z-scores are winsorised. */
const WINSORISED_SCORE = 3;

const strengthSchema = z
  .number()
  .min(0)
  .max(100)
  .default(1)
  .meta({ label: 'Strength', help: 'Exponent of the tilt. 0 keeps the base weights.' });
const directionSchema = z
  .enum(['high', 'low'])
  .default('high')
  .meta({ label: 'Direction', help: 'End of the datapoint whose weight increases.' });

const Tilt = defineObject(() => ({
  field: parameters.field,
  strength: strengthSchema,
  direction: directionSchema,
})).meta({ id: 'Tilt' });

/** Maximum number of further tilts. */
const TILTS_MAX = 16;

export const tiltWeight = defineWeightingClass({
  type: 'TiltWeight',
  label: 'Tilted weight',
  help: 'Base weights that are tilted towards one end of a datapoint, or of several datapoints. The tilts are multiplied.',
  params: defineObject(() => ({
    base: z
      .enum(['MarketCapWeight', 'EqualWeight'])
      .default('MarketCapWeight')
      .meta({ label: 'Base', help: 'Base weights. Market capitalisation uses the free float.' }),
    field: parameters.field,
    strength: strengthSchema,
    direction: directionSchema,
    tilts: z
      .array(Tilt)
      .max(TILTS_MAX)
      .default([])
      .meta({ label: 'More tilts', help: 'Further tilts, each with field, strength and direction.', ref: 'Tilt' }),
  })),
  example: {
    type: 'TiltWeight',
    params: { base: 'MarketCapWeight', field: 'DIVIDEND_YIELD', strength: 1, direction: 'high' },
  },
  behaviour({ base, tilts, ...first }) {
    const all = [first, ...tilts].map((tilt, k) => ({
      ...tilt,
      value: useNumber(tilt.field, k === 0 ? 'field' : `tilts[${k - 1}].field`),
      sign: tilt.direction === 'high' ? 1 : -1,
    }));
    const size = base === 'MarketCapWeight' ? useNumber('FREE_FLOAT_MARKET_CAP') : null;
    const tiltPhrases = all.map(
      (tilt) =>
        `${tilt.direction} ${nameUsedField(tilt.value)}: times the normal probability of its z-score, winsorised at ${WINSORISED_SCORE}, to the power of ${tilt.strength}`,
    );
    return {
      reads: [...(size === null ? [] : [size]), ...all.map(({ value }) => value)],
      sentence: `Weights start from ${size === null ? 'equal weights' : 'free-float market capitalisation'} and are tilted to ${tiltPhrases.join('; and to ')}.`,
      formula: 'base * normal probability(z)^strength',
      weigh(scope) {
        const sizes = size === null ? new Float64Array(scope.columns.length).fill(1) : readValues(scope, size);
        const scores = all.map(({ value, sign }) =>
          computeZScores(readValues(scope, value)).map(
            (score) => sign * Math.min(WINSORISED_SCORE, Math.max(-WINSORISED_SCORE, score)),
          ),
        );
        const tiltedWeights = all.reduce(
          (weights, tilt, k) =>
            weights.map((weight, i) => weight * raiseToPower(computeNormalProbability(scores[k]![i]!), tilt.strength)),
          sizes,
        );
        const listParts = (position: number, k: number) => {
          const z = scores[k]![position]!;
          const suffix = k === 0 ? '' : `_${k + 1}`;
          return { [`z${suffix}`]: Number.isNaN(z) ? null : z, [`strength${suffix}`]: all[k]!.strength };
        };
        return createWeights(tiltedWeights, (position) =>
          Object.assign({ base: sizes[position]! }, ...all.map((_, k) => listParts(position, k))),
        );
      },
    };
  },
});

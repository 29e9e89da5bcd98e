import { createNumberText } from '#kernels/engines/number-text.js';
import { measurePlain, seededPanel } from '../measure.js';

/** A matrix of 500 names as JSON, beside what the language offers. */
const NUMBERS = 250_000;
const values = seededPanel(NUMBERS);
const list = [...values];
const text = createNumberText();
let bytes = 0;

measurePlain(
  'numberText',
  `${NUMBERS}`,
  () => {
    bytes = 0;
    text.begin((part) => (bytes += part.length));
    text.numbers(values, 0, NUMBERS);
    text.flush();
    return bytes;
  },
  { bytes: 8 * NUMBERS },
);
measurePlain('JSON.stringify', `${NUMBERS}`, () => JSON.stringify(list).length, { bytes: 8 * NUMBERS });

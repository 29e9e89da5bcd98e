import { getParameter, setParameters } from '../../state/location.js';
import { Choice } from '../choice.js';
import { isWide, type Line } from './series.js';

const SCALES = [
  { value: 'linear', text: 'Linear' },
  {
    value: 'log',
    text: 'Log',
    help: 'Chosen automatically where the largest value is more than five times the smallest',
  },
] as const;

/** Returns true if the scale in the address is logarithmic. Default: the scale that suits the range of the lines. */
export function isLogarithmic(lines: readonly Line[], first: number, last: number): boolean {
  const chosenScale = getParameter('scale');
  return chosenScale === 'log' || (chosenScale !== 'linear' && isWide(lines, first, last));
}

export function ScaleChoice({ isLog }: { readonly isLog: boolean }) {
  return (
    <Choice
      label="Scale"
      options={SCALES}
      value={isLog ? 'log' : 'linear'}
      onChoose={(scale) => setParameters({ scale })}
    />
  );
}

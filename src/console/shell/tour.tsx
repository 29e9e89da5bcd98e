import { Button } from '../components/controls/button.js';
import { navigate } from '../state/location.js';
import { leaveTour, tour } from '../state/tour.js';
import './tour.css';

/** Renders the current step of the tour above its page. The user can leave the tour at any time. */
export function TourCard() {
  const { value } = tour;
  if (value === null) return null;
  const { index, step } = value;
  const { title, text } = STEPS[step]!; // `step` is a valid position
  const show = (next: number) => {
    tour.value = { index, step: next };
    navigate(STEPS[next]!.address(index)); // the buttons are disabled at the ends
  };
  return (
    <aside class="pile raised gap-2 tour-card" aria-label="Tour">
      <p class="quiet">
        Step {step + 1} of {STEPS.length}
      </p>
      <h2>{title}</h2>
      <p>{text}</p>
      <div class="gap-2 dialog-actions">
        <Button kind="bare" onClick={leaveTour}>
          Leave the tour
        </Button>
        {step > 0 && <Button onClick={() => show(step - 1)}>Back</Button>}
        {step < STEPS.length - 1 ? (
          <Button kind="main" onClick={() => show(step + 1)}>
            Next
          </Button>
        ) : (
          <Button kind="main" onClick={leaveTour}>
            Done
          </Button>
        )}
      </div>
    </aside>
  );
}

/** Step of the tour: a page and its explanation. */
interface Step {
  readonly title: string;
  readonly text: string;
  /** Returns the address of the step's page for the index of the tour. */
  address(index: string): string;
}

const createTourPage = (tab: string) => (index: string) => `/console/indices/${encodeURIComponent(index)}${tab}`;

export const STEPS: readonly Step[] = [
  {
    title: 'Level and figures',
    text: 'Choose a range with the buttons or drag over a chart; every figure of the page follows. Back returns to the earlier range.',
    address: createTourPage(''),
  },
  {
    title: 'Constituents',
    text: 'Select a security to see why it is in the index and how its weight came about, rule by rule.',
    address: createTourPage('?tab=constituents'),
  },
  {
    title: 'Definition',
    text: 'Change a rule: the preview shows the resulting securities and weights at once. Nothing is stored before you save.',
    address: createTourPage('/edit'),
  },
  {
    title: 'Optimise',
    text: 'Add constraints and see the solution as you type: slack, binding constraints and the largest changes.',
    address: (index) => `/console/optimise?index=${encodeURIComponent(index)}`,
  },
  {
    title: 'Report',
    text: 'Render a factsheet of the run as a PDF, from a built-in template or one of your own.',
    address: (index) => `/console/reports?index=${encodeURIComponent(index)}`,
  },
];

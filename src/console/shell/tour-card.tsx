import { Button } from '../components/controls/button.js';
import { navigate } from '../state/location.js';
import { leaveTour, tour } from '../state/tour.js';
import { STEPS } from './tour-steps.js';
import './tour-card.css';

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

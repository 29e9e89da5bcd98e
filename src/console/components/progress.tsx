import './progress.css';

interface ProgressProps {
  /** 0 to 1. */
  readonly value: number;
  readonly label: string;
}

export function Progress({ value, label }: ProgressProps) {
  return (
    <span
      class="progress"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(value * 100)}
    >
      <span style={{ transform: `scaleX(${value})` }} />
    </span>
  );
}

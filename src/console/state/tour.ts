import { signal } from '@preact/signals';

interface Tour {
  readonly index: string;
  readonly step: number;
}

/** The tour in this tab; null if no tour is active. */
export const tour = signal<Tour | null>(null);

export function startTour(index: string): void {
  tour.value = { index, step: 0 };
}

export function leaveTour(): void {
  tour.value = null;
}

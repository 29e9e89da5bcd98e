// Replaces `kernels/engines/team.ts` in the bundle: the engine uses a single thread.

export const createTeam = () => ({
  gather: (_count: number, work: () => number): number => work(),
  present: (_count: number, work: () => void): void => work(),
});

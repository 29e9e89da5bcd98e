// In the bundle, in place of `kernels/engines/team.ts`: the engine has its own thread and no other.

export const createTeam = () => ({
  gather: (_count: number, work: () => number): number => work(),
  present: (_count: number, work: () => void): void => work(),
});

/** Properties of a page: the parameters in its address. */
export interface PageProps {
  readonly params: Readonly<Record<string, string>>;
}

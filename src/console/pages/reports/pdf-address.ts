import { useEffect, useState } from 'preact/hooks';

/** An address of a PDF within this page; it ends with the component. */
export function usePdfAddress(pdf: Uint8Array | undefined): string | null {
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (pdf === undefined) return undefined;
    const created = URL.createObjectURL(new Blob([pdf as Uint8Array<ArrayBuffer>], { type: 'application/pdf' })); // The client's own bytes.
    setAddress(created);
    return () => URL.revokeObjectURL(created);
  }, [pdf]);
  return address;
}

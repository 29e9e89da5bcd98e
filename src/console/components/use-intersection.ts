import { useEffect, useState } from 'preact/hooks';

/**
 * Returns true while an element is in the window.
 * @param margin distance that is added to the upper and lower edges of the window
 */
export function useIntersection(element: { readonly current: HTMLElement | null }, margin: string): boolean {
  const [isInside, setInside] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => setInside(entry!.isIntersecting), {
      rootMargin: `${margin} 0px`,
    });
    observer.observe(element.current!); // the element is in the document when the effect runs
    return () => observer.disconnect();
  }, []);
  return isInside;
}

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

/** Width of a phone. The narrowest layout in the style sheets has the same limit. */
const phoneMedia = matchMedia('(width < 480px)');

/** Returns true while the window is as narrow as a phone. */
export function usePhone(): boolean {
  const [isPhone, setPhone] = useState(phoneMedia.matches);
  useEffect(() => {
    const follow = () => setPhone(phoneMedia.matches);
    follow();
    phoneMedia.addEventListener('change', follow);
    return () => phoneMedia.removeEventListener('change', follow);
  }, []);
  return isPhone;
}

import type { ComponentChildren, JSX } from 'preact';
import './button.css';

interface ButtonVariant {
  readonly kind?: 'plain' | 'main' | 'bare' | 'danger';
  readonly children: ComponentChildren;
}

export type ButtonProps = ButtonVariant & Omit<JSX.IntrinsicElements['button'], 'class' | 'kind' | 'children'>;

export function Button({ kind = 'plain', children, type = 'button', ...rest }: ButtonProps) {
  return (
    <button type={type} class={`button ${kind}`} {...rest}>
      {children}
    </button>
  );
}

type LinkProps = ButtonVariant & Omit<JSX.IntrinsicElements['a'], 'class' | 'kind' | 'children'>;

/** Renders a link that looks like a button. */
export function LinkButton({ kind = 'plain', children, ...rest }: LinkProps) {
  return (
    <a class={`button ${kind}`} {...rest}>
      {children}
    </a>
  );
}

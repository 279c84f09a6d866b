/** The top of a page: where it is, what it is called, in which state, and what can be done. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Tone } from './balance.tsx';

export function Head({
  title,
  within,
  state,
  actions,
  facts,
}: {
  title: ReactNode;
  /** The page above this one. */
  within?: { title: string; to: string; name: ReactNode };
  state?: ReactNode;
  actions?: ReactNode;
  facts?: ReactNode;
}) {
  return (
    <>
      {within && (
        <nav className="crumbs" aria-label="Path">
          <Link to={within.to}>{within.title}</Link>
          <span>/</span>
          <span className="mono">{within.name}</span>
        </nav>
      )}
      <div className="tight">
        <div className="head">
          <h1>{title}</h1>
          {state}
          {actions !== undefined && <div className="actions">{actions}</div>}
        </div>
        {facts !== undefined && <div className="facts">{facts}</div>}
      </div>
    </>
  );
}

/** A state in a word, with its colour. */
export function Chip({ tone, children }: { tone: Tone; children: ReactNode }) {
  return <span className={`chip ${tone === 'neutral' ? '' : tone}`}>{children}</span>;
}

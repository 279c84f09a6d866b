import { useSession } from '../session/session.tsx';

/** Says of a page which right it needs, and who can give it. */
export function NoRight({ title, missing }: { title: string; missing: readonly string[] }) {
  const { session } = useSession();
  return (
    <>
      <h1>{title}</h1>
      <p className="note info" role="status">
        <span>
          {sayMissing(missing)}: an admin of {session.entity.name} can give it.
        </span>
      </p>
    </>
  );
}

/** Says what is missing, as the title of a button that is off. */
export function sayMissing(missing: readonly string[]): string {
  return `Needs ${missing.map((each) => (each === 'admin' || each === 'superadmin' ? `the role ${each}` : `the right ${each}`)).join(' and ')}`;
}

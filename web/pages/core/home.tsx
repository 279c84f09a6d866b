/** What needs the person: `viewAttention`, in the words of the feature that says it. */
import { useRead } from '../../session/calls.ts';
import { useSession } from '../../session/session.tsx';

export function Home() {
  const { session } = useSession();
  const attention = useRead('listAttention', {});
  return (
    <>
      <div className="head">
        <h1>Home</h1>
      </div>
      <p className="second">
        {session.entity.name}: {attention.data ? `${attention.data.attention.length} need you` : 'looking'}
      </p>
    </>
  );
}

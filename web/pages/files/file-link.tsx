/** The file that was asked for: Millrace builds it in the background, then it can be fetched. */
import { Refused } from '../../parts/refusal.tsx';
import { type ResultOf, useBuiltFile } from '../../session/calls.ts';

export function FileLink({ answer }: { answer: ResultOf<'exportEventsAs'> }) {
  return typeof answer === 'string' ? (
    <span className="small second">{answer}</span>
  ) : (
    <BuiltFile link={answer.callback} />
  );
}

function BuiltFile({ link }: { link: string }) {
  const { address, result } = useBuiltFile(link);
  if (result.error) return <Refused refusal={result.error} retry={() => void result.refetch()} />;
  return result.data === true ? (
    <a className="btn" href={address} download title="The link works for 7 days">
      Download the file
    </a>
  ) : (
    <span className="small second" role="status">
      The file is being made
    </span>
  );
}

import { ActionButton } from '../../parts/button.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { type InputOf, useAction } from '../../session/calls.ts';

/** Asks for the list as a file, and shows the address of it: Millrace builds it in the background. */
export function CampaignsFile({ query }: { query: Partial<InputOf<'exportCampaignsAs'>['query']> }) {
  const ask = useAction('exportCampaignsAs');
  if (ask.data !== undefined) {
    return typeof ask.data === 'string' ? (
      <span className="small second">{ask.data}</span>
    ) : (
      <a
        className="btn"
        href={ask.data.callback}
        target="_blank"
        rel="noreferrer"
        title="The link works for 7 days. Open it again if Millrace is still building the file."
      >
        Fetch the CSV file
      </a>
    );
  }
  return (
    <>
      <ActionButton
        operation="exportCampaignsAs"
        isBusy={ask.isPending}
        onPress={() => ask.mutate({ params: { format: 'csv' }, query: { ...query, skip_email: 'true' } })}
      >
        As a file
      </ActionButton>
      {ask.error && <Refused refusal={ask.error} />}
    </>
  );
}

import { ActionButton } from '../../parts/button.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { type InputOf, useAction } from '../../session/calls.ts';
import { FileLink } from '../files/file-link.tsx';

/** Asks for the list as a file. */
export function CampaignsFile({ query }: { query: Partial<InputOf<'exportCampaignsAs'>['query']> }) {
  const ask = useAction('exportCampaignsAs');
  if (ask.data !== undefined) return <FileLink answer={ask.data} />;
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

import { LeadTo } from '../../parts/lead-to.tsx';
import { useFilters } from '../../parts/filters.ts';
import { useState } from 'react';
import { Editor } from './editor.tsx';

/** Shows the editor of a new campaign. Once it is saved, the address names its draft, for a reload. */
export function NewCampaign() {
  const [filters, change] = useFilters();
  const [reloaded] = useState(filters['draft']);
  if (reloaded !== undefined && reloaded !== '') return <LeadTo to={`/campaigns/${encodeURIComponent(reloaded)}`} />;
  return <Editor opened={null} onCreated={(draft) => change({ draft })} />;
}

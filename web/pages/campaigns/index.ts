import { page } from '../page.ts';

export const campaignPages = [
  page({
    path: '/campaigns',
    title: 'Campaigns',
    question: 'Which campaigns are there, and who got them?',
    needs: ['listCampaigns'],
    menu: { group: 'Messages', icon: 'megaphone' },
    key: 'n',
    load: () => import('./campaigns.tsx').then(({ Campaigns }) => Campaigns),
  }),
  page({
    path: '/campaigns/new',
    title: 'New campaign',
    question: 'Who gets what, and when?',
    needs: ['listCampaigns', 'createCampaign'],
    load: () => import('./new-campaign.tsx').then(({ NewCampaign }) => NewCampaign),
  }),
  page({
    path: '/campaigns/$id',
    title: 'Campaign',
    question: 'Who gets what, when? Who got it, who not?',
    needs: ['viewCampaign'],
    idPrefix: 'cmp_',
    load: () => import('./campaign.tsx').then(({ Campaign }) => Campaign),
  }),
];

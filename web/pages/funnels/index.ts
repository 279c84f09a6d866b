import { page } from '../page.ts';

export const funnelPages = [
  page({
    path: '/funnels',
    title: 'Funnels',
    question: 'Where do people stop?',
    needs: ['listFunnels'],
    menu: { group: 'Apps', icon: 'funnel' },
    key: 'f',
    load: () => import('./funnels.tsx').then(({ Funnels }) => Funnels),
  }),
  page({
    path: '/funnels/new',
    title: 'New funnel',
    question: 'Which steps should people take?',
    needs: ['createFunnel'],
    load: () => import('./new-funnel.tsx').then(({ NewFunnel }) => NewFunnel),
  }),
  page({
    path: '/funnels/$id',
    title: 'Funnel',
    question: 'Where do people stop, who are they, what did they do instead?',
    needs: ['viewFunnel'],
    idPrefix: 'fun_',
    load: () => import('./funnel.tsx').then(({ FunnelPage }) => FunnelPage),
  }),
];

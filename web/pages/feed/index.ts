import { page } from '../page.ts';

export const feedPages = [
  page({
    path: '/feeds/$id',
    title: 'Feed request',
    question: 'Did every value arrive?',
    needs: ['viewFeedRequest'],
    idPrefix: 'req_',
    load: () => import('./view-feed.tsx').then(({ ViewFeed }) => ViewFeed),
  }),
];

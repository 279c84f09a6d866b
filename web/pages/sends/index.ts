import { page } from '../page.ts';

export const sendPages = [
  page({
    path: '/sends/$id',
    title: 'Request',
    question: 'What became of the messages of this request?',
    needs: ['viewSend'],
    idPrefix: 'snd_',
    load: () => import('./view-send.tsx').then(({ ViewSend }) => ViewSend),
  }),
];

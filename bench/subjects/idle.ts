import { pause } from '../../test/support/pause.js'
import type { Subject } from './types.js'

const WATCH_MS = 1_500

/** A process without work. Its delays are those that the machine causes while another process sends. */
export const idle: Subject = {
  name: 'no work, beside the careful loop',
  given: 'gasAndFees',
  open: () => ({ burst: () => pause(WATCH_MS), close: async () => undefined }),
}

export type { RecordToOptions } from './options.js'
export { type Recorder, recordTo } from './recordTo.js'
export type { EventLine, RecordedAttempt, RecordedError, RecorderLine, RecordingLine } from './schema.js'

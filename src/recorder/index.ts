export type { RecordToOptions } from './recorder.js'
export { type Recorder, recordTo } from './recorder.js'
export type { EventLine, RecordedAttempt, RecordedError, RecorderLine, RecordingLine } from './schema.js'

import type { Logger } from '../types/index.js'

/** What a caller gave as `logger`: `false` for silence, undefined for the default. */
export type LoggerOption = Logger | false | undefined

/** Where a lane writes to. Its senders may have a logger each. */
export type LaneLog = {
  /** Forwards to every logger that was given. */
  readonly logger: Required<Logger>
  /** Returns what takes it away again. */
  attach(option: LoggerOption): () => void
  /**
   * A sentence about a wait that only a person can end. It goes to the console, unless a sender of the lane has a logger,
   * which gets the holds and waits themselves, or `false`.
   */
  notice(sentence: string): void
}

/** `warn` writes a line for people: the console of the process. */
export function createLaneLog(warn: (line: string) => void): LaneLog {
  const options: LoggerOption[] = []

  function forward(level: keyof Logger) {
    return (fields: object, message?: string) => {
      // One that several senders share is written to once.
      for (const option of new Set(options)) if (option) option[level]?.(fields, message)
    }
  }

  return {
    logger: {
      debug: forward('debug'),
      info: forward('info'),
      warn: forward('warn'),
      error: forward('error'),
    },
    attach(option) {
      options.push(option)
      let isAttached = true
      return () => {
        if (isAttached) options.splice(options.indexOf(option), 1)
        isAttached = false
      }
    },
    notice(sentence) {
      if (options.every((option) => option === undefined)) warn(`txlane: ${sentence}`)
    },
  }
}

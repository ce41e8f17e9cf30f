import type { Logger } from '../types/index.js'

/** The option `logger` of a caller: `false` for silence, undefined for the default. */
export type LoggerOption = Logger | false | undefined

/** The log of a lane. Each of its senders may have a logger. */
export type LaneLog = {
  /** Forwards to every given logger. */
  readonly logger: Required<Logger>
  /** Adds a logger. Returns a function that removes it. */
  attach(option: LoggerOption): () => void
  /**
   * Writes a sentence about a wait that only a person can end to the console. It does nothing if a sender of the lane has a
   * logger, which gets the holds and waits themselves, or `false`.
   */
  notice(sentence: string): void
}

/** `warn` writes a line to the console of the process. */
export function createLaneLog(warn: (line: string) => void): LaneLog {
  const options: LoggerOption[] = []

  function forward(level: keyof Logger) {
    return (fields: object, message?: string) => {
      // A logger that several senders share gets each line once.
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

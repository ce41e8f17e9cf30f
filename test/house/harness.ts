import { describe, expect, it } from 'vitest'
import type { Rule } from './rules.js'
import { parseSource, readSources } from './sources.js'

/** All TypeScript files of the repository. */
export const sources = readSources('src', 'tools', 'test', 'bench')

/** The texts of small sources, by path. */
export type Files = Readonly<Record<string, string>>

/** Sources that break a rule, each with a part of its message, and sources that keep it. */
export type Samples = {
  readonly broken: readonly (readonly [files: Files, message: string])[]
  readonly fine: readonly Files[]
}

const parsed = (files: Files) => Object.entries(files).map(([path, text]) => parseSource(path, text))

/** Checks that the rule holds in this repository, reports the broken samples, and accepts the fine ones. */
export function house(promise: string, rule: Rule, { broken, fine }: Samples): void {
  describe(promise, () => {
    it('holds in this repository', () => {
      expect(rule(sources)).toEqual([])
    })
    it.each(broken.map(([files, message]) => ({ files, message })))(
      'reports: $message (%#)',
      ({ files, message }) => {
        expect(rule(parsed(files)).join('\n')).toContain(message)
      },
    )
    it.each(fine.map((files) => ({ files })))('accepts sample %#', ({ files }) => {
      expect(rule(parsed(files))).toEqual([])
    })
  })
}

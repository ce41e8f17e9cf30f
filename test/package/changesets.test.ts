import { readdirSync, readFileSync } from 'node:fs'
import parse from '@changesets/parse'
import { expect, test } from 'vitest'

const FOLDER = new URL('../../.changeset/', import.meta.url)

// `changeset version` reads them for a release, and stops at the first unreadable one.
test('each changeset names the package, its version bump and the reason', () => {
  for (const file of readdirSync(FOLDER).filter((name) => name.endsWith('.md'))) {
    const { releases, summary } = parse(readFileSync(new URL(file, FOLDER), 'utf8'))
    expect(releases, file).toEqual([{ name: 'txlane', type: expect.stringMatching(/^(major|minor|patch)$/) }])
    expect(summary, file).not.toBe('')
  }
})

import { basename, dirname } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Runs the tests of the changed file first, then those of its folder, and property tests last. A run ends
 * with its first failure, and most changes are noticed within milliseconds.
 */
export default class NearestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const [changed = ''] = this.ctx.config.related ?? []
    const stem = basename(changed, '.ts')
    const distance = ({ moduleId }: TestSpecification): number => {
      const name = basename(moduleId)
      if (name.startsWith(`${stem}.`) && !isSlow(name)) return 0
      return (dirname(moduleId) === dirname(changed) ? 1 : 2) + (isSlow(name) ? 2 : 0)
    }
    return [...files].sort((a, b) => distance(a) - distance(b))
  }
}

const SLOW = ['.property.test.ts', 'deliveryTimes.test.ts', 'table.test.ts']

const isSlow = (name: string): boolean => SLOW.some((end) => name.endsWith(end))

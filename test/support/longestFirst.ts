import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes longest, the longest first. */
export const LONG: readonly string[] = [
  'test/sim/sender.test.ts',
  'src/signer/nativeAccount.test.ts',
  'test/model/model.test.ts',
  'test/sim/pools.test.ts',
  'test/crash/crash.test.ts',
  'test/integration/cli.test.ts',
  'test/peers/peers.test.ts',
  'test/package/package.test.ts',
  'test/integration/delegation.test.ts',
  'test/cluster/cluster.test.ts',
  'test/integration/retention.test.ts',
  'test/integration/demo.test.ts',
  'test/integration/examplePayout.test.ts',
  'test/package/examples.test.ts',
  'test/integration/exampleRelayer.test.ts',
]

/** Begins with what takes longest, so that no worker is left alone with it in the end. vitest goes by size at first. */
export class LongestFirst extends BaseSequencer {
  override async sort(specifications: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(specifications)
    const place = ({ moduleId }: TestSpecification) => {
      const found = LONG.findIndex((file) => moduleId.endsWith(file))
      return found < 0 ? LONG.length : found
    }
    return sorted.sort((a, b) => place(a) - place(b))
  }
}

import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { cacheFolder } from '../../scripts/bundle.mjs'

/** A block of TypeScript in a documentation text. */
export type Example = { readonly heading: string; readonly file: string; readonly text: string }

const SUBPATHS = {
  txlane: 'index',
  'txlane/devnet': '../tools/devnet/index',
  'txlane/ethers': 'ethers/index',
  'txlane/kms': 'kms/index',
  'txlane/opentelemetry': 'opentelemetry/index',
  'txlane/outbox': 'outbox/index',
  'txlane/postgres': 'store/postgres/index',
  'txlane/recorder': 'recorder/index',
  'txlane/signer': 'signer/index',
  'txlane/sqlite': 'store/sqlite/index',
  'txlane/store-contract': 'store/contract/index',
}

/**
 * Type-checks texts as strictly as the library, as if the package were installed, and returns the errors by
 * file. It uses the native compiler, which takes a quarter of the time.
 */
export async function typeCheck(
  root: string,
  examples: readonly Example[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const folder = cacheFolder('txlane-examples-')
  try {
    for (const { file, text } of examples) await writeFile(join(folder, file), text)
    // As in a project of ES modules: for CommonJS, ethers has other types, whose classes are incompatible.
    await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(configOf(root, examples)))
    return problemsOf(examples, await compile(root, folder))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

function configOf(root: string, examples: readonly Example[]): unknown {
  return {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      paths: Object.fromEntries(
        Object.entries(SUBPATHS).map(([name, file]) => [name, [join(root, `src/${file}.ts`)]]),
      ),
    },
    // Includes the library's declarations for packages without types.
    files: [...examples.map(({ file }) => file), join(root, 'src/signer/addons.d.ts')],
    include: [],
    exclude: [],
  }
}

/** Returns the compiler's output. @throws Error if the compiler did not run */
async function compile(root: string, folder: string): Promise<string> {
  const compiler = join(root, 'node_modules/typescript-native/bin/tsc')
  const args = [compiler, '--noEmit', '--pretty', 'false', '-p', folder]
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26 }, (error, out, err) => {
      const isVerdict = error === null || /^\S+\.ts\(\d+,\d+\): error /m.test(out)
      if (isVerdict) resolve(out)
      else reject(new Error(`The compiler failed: ${out}${err}`, { cause: error }))
    })
  })
}

/** An error is a line "file(line,column): error TSnumber: words"; its continuation lines are indented. */
function problemsOf(examples: readonly Example[], out: string): ReadonlyMap<string, readonly string[]> {
  const problems = new Map<string, string[]>(examples.map(({ file }) => [file, []]))
  for (const [, file = '', words = ''] of out.matchAll(/^(\S.*?)\(\d+,\d+\): (.*(?:\n .*)*)/gm)) {
    const found = problems.get(file)
    // Not an example but the library itself, on which all examples depend.
    if (found === undefined) throw new Error(`${file}: ${words}`)
    found.push(words)
  }
  return problems
}

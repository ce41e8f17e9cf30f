/** The version in each error and each recording. A test compares it with package.json. */
export const PACKAGE_VERSION = '0.1.0'

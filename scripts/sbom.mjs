// Prints the bill of materials of a release, as CycloneDX 1.6: the packages whose modules the bundles of `dist` contain,
// and the dependencies in package.json with their transitive dependencies, with the hashes of the lock file. The same
// lock file and sources give identical bytes. Needs the build.
// npm run --silent sbom > divisor.cdx.json
import { existsSync, readFileSync } from 'node:fs';
import { readBundledPackages, readPackage } from './bundled-packages.mjs';

const read = (file) => JSON.parse(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'));

/** Returns the name of a package from its path under node_modules. */
const nameOf = (place) => place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length);
const purlOf = (name, version) => `pkg:npm/${name.replace('@', '%40')}@${version}`;
const refOf = (place, { version }) => `${purlOf(nameOf(place), version)}#${place}`;

/** Finds the path of a dependency of a package by the resolution of Node. */
export function resolvePackage(packages, from, name) {
  for (let above = from; ; above = above.slice(0, Math.max(0, above.lastIndexOf('node_modules/') - 1))) {
    const place = `${above === '' ? '' : `${above}/`}node_modules/${name}`;
    if (place in packages) return place;
    if (above === '') return undefined;
  }
}

/**
 * Returns the bill of materials.
 * @param project package.json
 * @param lock package-lock.json
 * @param bundled folders of the bundled packages, each with the names of its bundles
 * @throws Error if a bundled package is no dependency of the release, or has no licence
 */
export function createBillOfMaterials(project, { packages }, bundled) {
  const places = Object.keys(packages)
    .filter((place) => place !== '' && packages[place].dev !== true)
    .toSorted();
  const strays = [...bundled.keys()].filter((place) => !places.includes(place));
  if (strays.length > 0)
    throw new Error(`bundled packages must be dependencies in package.json, not for development: ${strays.join(', ')}`);
  const isIn = new Set(places);
  const component = (place) => {
    const { version, integrity, license = findInstalledLicence(place) } = packages[place];
    if (license === undefined && bundled.has(place)) throw new Error(`the bundled package ${place} states no licence`);
    const [algorithm, digest] = integrity.split('-');
    return {
      type: 'library',
      'bom-ref': refOf(place, packages[place]),
      name: nameOf(place),
      version,
      scope: packages[place].optional === true ? 'optional' : 'required',
      hashes: [{ alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') }],
      ...(license === undefined ? {} : { licenses: [licenceOf(license)] }),
      purl: purlOf(nameOf(place), version),
      ...(bundled.has(place)
        ? { properties: bundled.get(place).map((value) => ({ name: 'divisor:bundle', value: `dist/${value}` })) }
        : {}),
    };
  };
  const dependencies = (place) => {
    const { dependencies: wanted = {}, optionalDependencies: optional = {} } = packages[place];
    const results = Object.keys({ ...wanted, ...optional }).map((name) => resolvePackage(packages, place, name));
    return [...new Set(results.filter((each) => isIn.has(each)).map((each) => refOf(each, packages[each])))].toSorted();
  };
  const root = purlOf(project.name, project.version);
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': root,
        name: project.name,
        version: project.version,
        licenses: [{ license: { id: project.license } }],
        purl: root,
      },
    },
    components: places.map(component),
    dependencies: [
      { ref: root, dependsOn: dependencies('') },
      ...places.map((place) => ({ ref: refOf(place, packages[place]), dependsOn: dependencies(place) })),
    ],
  };
}

const licenceOf = (text) => (/[ ()]/.test(text) ? { expression: text } : { license: { id: text } });

/** Returns the licence of an installed package whose licence the lock file does not have. */
const findInstalledLicence = (place) =>
  existsSync(new URL(`../${place}/package.json`, import.meta.url)) ? readPackage(place).licence : undefined;

if (process.argv[1]?.endsWith('sbom.mjs')) {
  const bill = createBillOfMaterials(read('package.json'), read('package-lock.json'), readBundledPackages());
  process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`);
}

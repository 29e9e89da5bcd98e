# Written from package.json by `npm run generate`.
VERSION = "0.9.0"

#pragma once

// Every network of the zoo, as small as possible at full depth, for tests that run all of them.

#include <map>
#include <string>
#include <vector>

#include "models/zoo.h"

namespace headroom::testing {

// Networks not listed here are already small.
inline std::string small_model(const std::string& name) {
  static const std::map<std::string, std::string> kOptions = {
      {"alexnet", "width=0.125,input=67,classes=10"},
      {"overfeat", "width=0.125,input=71,classes=10"},
      {"vgg", "width=0.125,input=32,classes=10"},
      {"googlenet", "width=0.125,input=32,classes=10"},
      {"resnet", "width=0.125,input=33,classes=10"},
      {"squeezenet", "width=0.5,input=33,classes=10"},
      {"mobilenet", "width=0.125,input=33,classes=10"},
      {"vit", "width=48,depth=2,patch=8,input=32,classes=10"},
      {"rnn", "hidden=12,layers=2,bidirectional=on,input=12,classes=10"},
      {"gpt2", "size=tiny,width=32,depth=2,context=16,vocab=64"},
  };
  const auto it = kOptions.find(name);
  return it == kOptions.end() ? name : name + ":" + it->second;
}

inline std::vector<std::string> small_models() {
  std::vector<std::string> models;
  for (const ZooEntry& entry : zoo()) models.push_back(small_model(entry.name));
  return models;
}

}  // namespace headroom::testing

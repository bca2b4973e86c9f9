"""VGG with 11 layers: model A of "Very deep convolutional networks"."""
import torch.nn as nn

from train import train

STAGES = [[64], [128], [256, 256], [512, 512], [512, 512]]


class Vgg(nn.Sequential):
    def __init__(self, channels, maps, classes):
        super().__init__()
        before = channels
        for stage, widths in enumerate(STAGES, 1):
            for number, width in enumerate(widths, 1):
                self.add_module(f"conv{stage}_{number}", nn.Conv2d(before, maps(width), 3, padding=1))
                self.add_module(f"relu{stage}_{number}", nn.ReLU(inplace=True))
                before = maps(width)
            self.add_module(f"pool{stage}", nn.MaxPool2d(2))
        self.add_module("flat", nn.Flatten())
        for name in ("fc6", "fc7"):
            self.add_module(name, nn.LazyLinear(maps(4096)))
            self.add_module(f"{name}_relu", nn.ReLU(inplace=True))
        self.add_module("fc8", nn.LazyLinear(classes))


if __name__ == "__main__":
    train(Vgg, side=224)
